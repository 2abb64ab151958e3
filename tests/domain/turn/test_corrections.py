"""Which answers ask the user for what can be read without them, and which only sound like it."""

import pytest

from quintet.domain.turn.corrections import Correction, asks, wrong
from quintet.domain.turn.stage_policy import Reasoning

ASKING = [
    "I need to see calc.py before I can help. Please upload it.",
    "I need to see calc.py before I can help.",
    "What are the contents of calc.py?",
    "please upload calc.py",
    "Please paste the stack trace here",
    "Please provide the contents of parser.py.",
    "Could you share the full stack trace and the relevant code?",
    "Can you show me the file?",
    "Could you please paste the output of the failing test?",
    "Please attach the log file so I can take a look.",
    "Would you mind sharing the code of the function?",
    "I'd need to look at the source to be sure; please send it.",
    "Can you tell me what is in src/app.py?",
    "What does calc.py contain?",
    "Please copy and paste the contents of config.yaml.",
    "I don't have access to your files, so please share the relevant snippets.",
    "Without seeing the code I cannot say. Please post it.",
    "If you share calc.py, I can fix it.",
    "Once you provide the file, I will look into it.",
    "Send me the diff and I'll review it.",
    "Paste the error message here.",
    "Let me know the contents of the file.",
    "I can't see your project. Upload the files and I'll help.",
    "Could you provide the code of main.py?",
]
ORDINARY = [
    "Please run the tests",
    "You can share this link with the team",
    "I need to see whether X",
    "I changed the import; the tests pass.",
    "The file provides the code that sends logs.",
    "Which of the two did you mean?",
    "The function shows the user what they can upload.",
    "Users can upload files of up to 5 MB.",
    "You can now upload a file with POST /files.",
    "This line should give the caller a copy of the list.",
    "Consider sharing the parser between the two modules.",
    "The test needs to see the file before it is closed.",
    "I had to read calc.py first; it divides by zero in mean().",
    "Please review the diff above and tell me if you want anything else.",
    "You can send a request to /health to check it.",
    "You could attach a debugger to see the loop.",
    "Please note that the code of mean() is unchanged.",
    "Can you confirm that the API key is set in production?",
    "Could you tell me which database you use?",
    "What is the expected result when the list is empty?",
    "The endpoint gives me a 404; the route was renamed in app.py.",
    "You need to provide a value for DATABASE_URL in your environment.",
    "It will post the output of each test to the dashboard.",
    "To try it: paste the code into a file and run python demo.py.",
    "I need to know whether the old API has to stay.",
    "Please restart the server so that it reads config.yaml again.",
    "The upload handler sends the file to S3, then shows me the key in the log.",
    "Would you like me to share the class between both modules?",
    "You can show the log with `tail -f app.log`.",
    "I did not find calc.py. Did you mean calculator.py?",
    "You can provide the file with --config config.yaml.",
    "The error message says that the file is missing.",
    "If you provide a file that is empty, the parser now says so.",
    "Run `git diff` to see the changes.",
]


@pytest.mark.parametrize("answer", ASKING)
def test_s1_10_2_an_answer_that_asks_for_files_is_sent_back(answer: str) -> None:
    assert asks(answer)
    said = f"I had a look.\n\n{answer}"
    assert wrong(said, agent=True, followup=False, reasoning=Reasoning.NONE) is Correction.ASKS_FOR_FILES


@pytest.mark.parametrize("answer", ORDINARY)
def test_s1_10_2_an_ordinary_answer_is_not(answer: str) -> None:
    assert not asks(answer)
    assert not asks(f"I had a look.\n\n{answer} That is all.")
