; What a Haskell file declares.

(header module: (module) @name) @module
(data_type name: (name) @name) @type
(newtype name: (name) @name) @type
(type_synonym name: (name) @name) @type
(class name: (name) @name) @interface
(data_constructor constructor: (prefix name: (constructor) @name)) @constant
(data_constructor constructor: (record name: (constructor) @name)) @constant
(newtype_constructor name: (constructor) @name) @constant
(field name: (field_name (variable) @name)) @field
(signature name: (variable) @name) @function
(haskell declarations: (declarations (function name: (variable) @name) @function))
(haskell declarations: (declarations (bind name: (variable) @name) @function))
