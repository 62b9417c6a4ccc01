"""The AutoML bench: the protocols of AutoML-Agent and iML on the real environment, beside other systems.

Reading order: `sets` (data with hidden answers), `prompts` (requests in several wordings), `runs` (one measured run),
`records` (the results file), `studies` (which runs a table needs), `tables`, `command`.
"""
