// The official clients of npm against fabricast-mcp: client.mjs MCP SCENARIO_TEXT_FILE
// Exits with 77 if neither is installed (FABRICAST_MCP_CLIENTS names a directory with node_modules).
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";
import assert from "node:assert";

const [server, file] = process.argv.slice(2);
const require = createRequire((process.env.FABRICAST_MCP_CLIENTS || process.cwd()) + "/package.json");

async function load(...names) {
  try {
    return await Promise.all(names.map((name) => import(pathToFileURL(require.resolve(name)))));
  } catch (error) {
    return null;
  }
}

async function use(what, Client, Transport, options) {
  const client = new Client({name: "fabricast-test", version: "1"}, options);
  await client.connect(new Transport({command: server, args: []}));
  const {tools} = await client.listTools();
  assert.deepStrictEqual(tools.map((t) => t.name), ["run", "explain", "plan", "check", "gate", "describe", "list", "schema"]);
  const scenario = readFileSync(file, "utf8");
  // The client checks structured content against the output schema.
  const answer = await client.callTool({name: "run", arguments: {scenario}});
  assert.ok(!answer.isError);
  assert.strictEqual(answer.structuredContent.answer.rows.length > 2, true);
  assert.deepStrictEqual(JSON.parse(answer.content[0].text), answer.structuredContent.answer);
  const wrong = await client.callTool({name: "run", arguments: {scenario: "fabricast: 2"}});
  assert.ok(wrong.isError);
  await client.close();
  console.log(what + ": works");
}

const first = await load("@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/sdk/client/stdio.js");
if (first) await use("@modelcontextprotocol/sdk", first[0].Client, first[1].StdioClientTransport, {});
const second = await load("@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio");
if (second) await use("@modelcontextprotocol/client", second[0].Client, second[1].StdioClientTransport, {});
if (!first && !second) {
  console.log("no client is installed: npm install @modelcontextprotocol/sdk");
  process.exit(77);
}
