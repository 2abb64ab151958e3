; What a C file declares.

(function_declarator declarator: (identifier) @name) @function
(function_declarator declarator: (parenthesized_declarator (identifier) @name)) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (identifier) @name) @constant
(type_definition declarator: (type_identifier) @name) @type
(type_definition declarator: (pointer_declarator (type_identifier) @name)) @type
(type_definition declarator: (array_declarator (type_identifier) @name)) @type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator (type_identifier) @name)))) @type
(field_declaration declarator: (field_identifier) @name) @field
(field_declaration declarator: (pointer_declarator (field_identifier) @name)) @field
(field_declaration declarator: (pointer_declarator (pointer_declarator (field_identifier) @name))) @field
(field_declaration declarator: (array_declarator (field_identifier) @name)) @field
(field_declaration declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator (field_identifier) @name)))) @field
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(translation_unit (declaration declarator: (identifier) @name) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
(translation_unit (declaration declarator: (pointer_declarator (identifier) @name)) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (pointer_declarator (identifier) @name))) @variable)
(translation_unit (declaration declarator: (array_declarator (identifier) @name)) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (array_declarator (identifier) @name))) @variable)
(preproc_if (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
(preproc_ifdef (declaration declarator: [(identifier) @name (init_declarator declarator: (identifier) @name)]) @variable)
