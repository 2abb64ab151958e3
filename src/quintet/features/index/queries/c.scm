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
; Outside of functions: also in what is compiled only where something is defined, and in extern "C".
(translation_unit (declaration declarator: [
  (identifier) @name
  (pointer_declarator (identifier) @name)
  (array_declarator (identifier) @name)
  (array_declarator (array_declarator (identifier) @name))
  (init_declarator declarator: (identifier) @name)
  (init_declarator declarator: (pointer_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (array_declarator (identifier) @name)))
]) @variable)
(declaration_list (declaration declarator: [
  (identifier) @name
  (pointer_declarator (identifier) @name)
  (array_declarator (identifier) @name)
  (array_declarator (array_declarator (identifier) @name))
  (init_declarator declarator: (identifier) @name)
  (init_declarator declarator: (pointer_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (array_declarator (identifier) @name)))
]) @variable)
(preproc_if (declaration declarator: [
  (identifier) @name
  (pointer_declarator (identifier) @name)
  (array_declarator (identifier) @name)
  (array_declarator (array_declarator (identifier) @name))
  (init_declarator declarator: (identifier) @name)
  (init_declarator declarator: (pointer_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (array_declarator (identifier) @name)))
]) @variable)
(preproc_ifdef (declaration declarator: [
  (identifier) @name
  (pointer_declarator (identifier) @name)
  (array_declarator (identifier) @name)
  (array_declarator (array_declarator (identifier) @name))
  (init_declarator declarator: (identifier) @name)
  (init_declarator declarator: (pointer_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (array_declarator (identifier) @name)))
]) @variable)
(preproc_else (declaration declarator: [
  (identifier) @name
  (pointer_declarator (identifier) @name)
  (array_declarator (identifier) @name)
  (array_declarator (array_declarator (identifier) @name))
  (init_declarator declarator: (identifier) @name)
  (init_declarator declarator: (pointer_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (array_declarator (identifier) @name)))
]) @variable)
(preproc_elif (declaration declarator: [
  (identifier) @name
  (pointer_declarator (identifier) @name)
  (array_declarator (identifier) @name)
  (array_declarator (array_declarator (identifier) @name))
  (init_declarator declarator: (identifier) @name)
  (init_declarator declarator: (pointer_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (identifier) @name))
  (init_declarator declarator: (array_declarator (array_declarator (identifier) @name)))
]) @variable)
