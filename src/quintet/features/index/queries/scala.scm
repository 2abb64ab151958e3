; What a Scala file declares.

(class_definition name: (identifier) @name) @class
(object_definition name: (identifier) @name) @class
(trait_definition name: (identifier) @name) @interface
(enum_definition name: (identifier) @name) @enum
(simple_enum_case name: (identifier) @name) @constant
(full_enum_case name: (identifier) @name) @constant
(type_definition name: (type_identifier) @name) @type
(given_definition name: (identifier) @name) @variable
(function_definition name: [(identifier) (operator_identifier)] @name) @function
(function_declaration name: [(identifier) (operator_identifier)] @name) @function
(template_body (val_definition pattern: (identifier) @name) @field)
(template_body (var_definition pattern: (identifier) @name) @field)
(template_body (val_declaration name: (identifier) @name) @field)
(compilation_unit (val_definition pattern: (identifier) @name) @variable)
(class_parameter name: (identifier) @name) @field
