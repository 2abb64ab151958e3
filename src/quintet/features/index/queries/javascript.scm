; What a JavaScript file declares.

(class_declaration name: (identifier) @name) @class
(class name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @field

; The first pattern that fits a name says its kind.
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(program (lexical_declaration (variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @name
  (pair_pattern value: (identifier) @name)])) @variable))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(export_statement (variable_declaration (variable_declarator name: (identifier) @name) @variable))
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
