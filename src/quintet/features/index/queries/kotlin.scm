; What a Kotlin file declares.

(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @class
(companion_object name: (identifier) @name) @class
(enum_entry (identifier) @name) @constant
(function_declaration name: (identifier) @name) @function
(type_alias type: (identifier) @name) @type
(source_file (property_declaration (variable_declaration (identifier) @name)) @variable)
(class_body (property_declaration (variable_declaration (identifier) @name)) @field)
(class_parameter (identifier) @name) @field
