; What a Swift file declares.

(class_declaration name: (type_identifier) @name) @class
(class_declaration "extension" name: (user_type (type_identifier) @name)) @scope
(protocol_declaration name: (type_identifier) @name) @interface
(typealias_declaration name: (type_identifier) @name) @type
(associatedtype_declaration name: (type_identifier) @name) @type
(enum_entry name: (simple_identifier) @name) @constant
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @method
(init_declaration "init" @name) @method
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field
