; What a C++ file declares. A function that is defined outside its class belongs to it all the same.

(function_declarator declarator: (identifier) @name) @function
(function_declarator declarator: (field_identifier) @name) @method
(function_declarator declarator: (destructor_name) @name) @method
(function_declarator declarator: (operator_name) @name) @method
(function_declarator declarator: (qualified_identifier
  scope: (_) @in
  name: [(identifier) (destructor_name) (operator_name)] @name)) @method
(function_declarator declarator: (qualified_identifier
  name: (qualified_identifier scope: (_) @in name: [(identifier) (destructor_name)] @name))) @method
(namespace_definition name: (namespace_identifier) @name) @module
(class_specifier name: (type_identifier) @name body: (_)) @class
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (identifier) @name) @constant
(concept_definition name: (identifier) @name) @type
(alias_declaration name: (type_identifier) @name) @type
(type_definition declarator: (type_identifier) @name) @type
(type_definition declarator: (pointer_declarator (type_identifier) @name)) @type
(field_declaration declarator: (field_identifier) @name) @field
(field_declaration declarator: (pointer_declarator (field_identifier) @name)) @field
(field_declaration declarator: (reference_declarator (field_identifier) @name)) @field
(field_declaration declarator: (array_declarator (field_identifier) @name)) @field
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(translation_unit (declaration declarator: (identifier) @name) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
(namespace_definition body: (declaration_list (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable))
