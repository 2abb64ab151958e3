; What a Rust file declares. What stands in an impl belongs to its type.

(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @scope
(mod_item name: (identifier) @name) @module
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(enum_variant name: (identifier) @name) @constant
(trait_item name: (type_identifier) @name) @interface
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(field_declaration name: (field_identifier) @name) @field
(macro_definition name: (identifier) @name) @macro
