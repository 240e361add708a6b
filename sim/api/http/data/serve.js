// Asks at every change, and shows the last answer that belongs to what is typed. A newer question ends an older one.
"use strict";
const form = document.getElementById("form");
const scenario = document.getElementById("scenario");
const report = document.getElementById("report");
const faults = document.getElementById("faults");
const time = document.getElementById("time");
// A server with a token is opened by its address with #token=...; the fragment is not sent anywhere.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
let running = null;

function request() {
  const changes = [];
  for (const name of ["cluster.nodes", "fabric.kind", "fabric.oversubscription", "routing.kind", "workload.collective"]) {
    const value = form.elements[name].value;
    if (value !== "") changes.push(name + "=" + value);
  }
  const asked = {scenario: scenario.value, changes, form: "html"};
  if (form.elements.question.value === "run") asked.intervals = form.elements.intervals.checked;
  return asked;
}

function show(diagnostics) {
  // A report of an earlier scenario stays, but is dimmed.
  report.classList.toggle("old", diagnostics.length > 0);
  faults.replaceChildren(...diagnostics.map((d) => {
    const item = document.createElement("li");
    item.textContent = (d.line ? "line " + d.line + ": " : "") + (d.key ? d.key + ": " : "") + d.what;
    if (d.hint) {
      const hint = document.createElement("small");
      hint.textContent = d.hint;
      item.append(hint);
    }
    return item;
  }));
}

async function ask() {
  if (running) running.abort();
  const mine = running = new AbortController();
  const headers = {"Content-Type": "application/json"};
  if (token) headers.Authorization = "Bearer " + token;
  const begin = performance.now();
  try {
    const response = await fetch("/" + form.elements.question.value,
                                 {method: "POST", headers, body: JSON.stringify(request()), signal: mine.signal});
    const text = await response.text();
    if (mine !== running) return;
    time.textContent = Math.round(performance.now() - begin) + " ms";
    if (response.ok) {
      report.srcdoc = text;
      show([]);
    } else {
      show(JSON.parse(text).diagnostics);
    }
  } catch (error) {
    if (error.name !== "AbortError") show([{what: String(error)}]);
  } finally {
    if (mine === running) running = null;
  }
}

form.addEventListener("input", ask);
scenario.addEventListener("input", ask);
form.addEventListener("submit", (event) => event.preventDefault());
ask();
