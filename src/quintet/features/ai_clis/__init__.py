"""AI CLIs as executors: codex, claude, gemini, and any agent that speaks ACP.

Each has a dialect: how it is started, what it needs of the machine, and what the lines of its stream mean. One runner
starts them all behind the sandbox, bounds what they print, owns their deadlines, and ends the whole process tree.
"""
