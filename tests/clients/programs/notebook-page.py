"""Runs the examples in Python of docs/notebooks.md, one after the other."""
import json
import os
import re
from pathlib import Path

import requests

page = (Path(__file__).parents[3] / "docs" / "notebooks.md").read_text()
statement = re.search(r"```sql\n(.*?)```", page, re.DOTALL).group(1)
made = requests.post(os.environ["EIDER_URL"] + "/api/sql/query", json={"query": statement}).json()
assert made["type"] != "error", made
blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
names = {}
for block in blocks:
    exec(compile(block, "docs/notebooks.md", "exec"), names)
print(json.dumps(len(blocks)))
