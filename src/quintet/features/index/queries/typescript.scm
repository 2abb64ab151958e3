; What a TypeScript file declares, with or without JSX.

(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(class name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(enum_assignment name: (property_identifier) @name) @constant
(enum_body name: (property_identifier) @name) @constant
(type_alias_declaration name: (type_identifier) @name) @type
(internal_module name: [(identifier) (nested_identifier)] @name) @module
(module name: [(identifier) (nested_identifier)] @name) @module

(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(function_signature name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(method_signature name: [(property_identifier) (private_property_identifier)] @name) @method
(abstract_method_signature name: [(property_identifier) (private_property_identifier)] @name) @method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @field
(interface_body (property_signature name: (property_identifier) @name) @field)
(type_alias_declaration value: (object_type (property_signature name: (property_identifier) @name) @field))
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @field
(required_parameter "readonly" pattern: (identifier) @name) @field

; The first pattern that fits a name says its kind.
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(program (lexical_declaration (variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @name
  (pair_pattern value: (identifier) @name)])) @variable))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(export_statement (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(ambient_declaration (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
