; What a Julia file declares.

(module_definition name: (identifier) @name) @module
(struct_definition (type_head (identifier) @name)) @struct
(struct_definition (type_head (binary_expression . (identifier) @name))) @struct
(struct_definition (type_head (parametrized_type_expression . (identifier) @name))) @struct
(abstract_definition (type_head (identifier) @name)) @type
(abstract_definition (type_head (binary_expression . (identifier) @name))) @type
(function_definition (signature (call_expression . (identifier) @name))) @function
(function_definition (signature (call_expression . (field_expression (identifier) @name .)))) @function
(function_definition (signature (where_expression . (call_expression . (identifier) @name)))) @function
(function_definition (signature (typed_expression . (call_expression . (identifier) @name)))) @function
(assignment . (call_expression . (identifier) @name)) @function
(macro_definition (signature (call_expression . (identifier) @name))) @macro
(const_statement (assignment . (identifier) @name)) @constant
