; What an Elixir file declares: modules and functions are calls of macros.

(call
  target: (identifier) @_made
  (arguments (alias) @name)
  (#any-of? @_made "defmodule" "defprotocol" "defimpl")) @module
(call
  target: (identifier) @_made
  (arguments [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name))
    (binary_operator left: (identifier) @name)])
  (#any-of? @_made "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate")) @function
(unary_operator
  operator: "@"
  operand: (call target: (identifier) @name)
  (#not-any-of? @name "doc" "moduledoc" "spec" "impl" "type" "typep" "callback" "behaviour" "deprecated" "since")) @constant
