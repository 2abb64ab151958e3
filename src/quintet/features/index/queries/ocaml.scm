; What an OCaml file declares, in an implementation or an interface.

(module_binding (module_name) @name) @module
(module_type_definition (module_type_name) @name) @interface
(type_binding name: (type_constructor) @name) @type
(exception_definition (constructor_declaration (constructor_name) @name)) @type
(constructor_declaration (constructor_name) @name) @constant
(field_declaration (field_name) @name) @field
(value_specification (value_name) @name) @function
(external (value_name) @name) @function
(class_binding name: (class_name) @name) @class
(method_definition name: (method_name) @name) @method
; implementation only
(structure (value_definition (let_binding pattern: (value_name) @name) @function))
(compilation_unit (value_definition (let_binding pattern: (value_name) @name) @function))
