"""Executes a notebook: notebook_test.py NOTEBOOK. Exits with 77 if nbclient or a kernel is missing."""

import sys

try:
    import ipykernel  # noqa: F401
    import nbclient
    import nbformat
    import pandas  # noqa: F401
except ImportError as missing:
    print(missing)
    sys.exit(77)

notebook = nbformat.read(sys.argv[1], as_version=4)
# The kernel is the interpreter that runs this, whatever kernels are installed.
client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
client.create_kernel_manager()
client.km.kernel_spec.argv[0] = sys.executable
client.execute()
shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
assert any("text/html" in output.get("data", {}) for output in shown), "no table was shown"
