-- What is declared in a file can be claimed: the lines that the index gives for it, in one content of the file.

ALTER TABLE path_claims ADD COLUMN symbol TEXT NOT NULL DEFAULT '';   -- as Calc.add; empty: lines, or all of it
ALTER TABLE path_claims ADD COLUMN content TEXT NOT NULL DEFAULT '';  -- a digest; empty: not by symbol, or unknown
