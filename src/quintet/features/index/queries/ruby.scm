; What a Ruby file declares.

(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @class
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @module
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(alias name: (_) @name) @method
(assignment left: (constant) @name) @constant
(call
  method: (identifier) @_made
  arguments: (argument_list (simple_symbol) @name)
  (#any-of? @_made "attr_accessor" "attr_reader" "attr_writer" "define_method" "delegate" "scope")) @field
