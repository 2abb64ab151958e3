; What a Lua file declares.

(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression table: (_) @in field: (identifier) @name)) @function
(function_declaration name: (method_index_expression table: (_) @in method: (identifier) @name)) @method
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @variable)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @variable)
(assignment_statement
  (variable_list name: (dot_index_expression table: (_) @in field: (identifier) @name))
  (expression_list value: (function_definition))) @function
(field name: (identifier) @name value: (function_definition)) @method
