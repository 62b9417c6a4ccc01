"""An MCP server: coding agents call the checks, the oracle and whole runs."""
