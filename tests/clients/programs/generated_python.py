"""Generates a client by openapi-python-client, compiles it, and runs the program of the documentation with it."""

import compileall
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

clients = pathlib.Path(__file__).resolve().parent.parent
page = (clients / "../../docs/generated-clients.md").resolve().read_text()
program = page.split("<!-- python -->\n```python\n")[1].split("\n```")[0]
environment = {
    "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
    "EIDER_URL": os.environ["EIDER_URL"],
}
with tempfile.TemporaryDirectory() as folder:
    urllib.request.urlretrieve(f"{os.environ['EIDER_URL']}/openapi.json", f"{folder}/eider.json")
    generator = ["openapi-python-client", "generate", "--path", "eider.json"]
    generated = subprocess.run(
        [*generator, "--output-path", "eider_client", "--meta", "none"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    told = generated.stdout + generated.stderr
    if generated.returncode != 0 or "WARNING" in told or "omitted" in told:
        sys.exit(told)
    if not compileall.compile_dir(f"{folder}/eider_client", quiet=1):
        sys.exit("the client does not compile")
    pathlib.Path(folder, "program.py").write_text(program)
    ended = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=environment, capture_output=True, text=True
    )
    sys.stderr.write(ended.stderr)
    sys.stdout.write(ended.stdout)
    sys.exit(ended.returncode)
