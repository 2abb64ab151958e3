; What a Python file declares. The capture beside @name is the kind of the symbol.

(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(type_alias_statement left: (type (identifier) @name)) @type

(module (expression_statement (assignment left: (identifier) @name) @variable))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field)))
(class_definition body: (block (expression_statement (assignment left: (pattern_list (identifier) @name)) @field)))
(module (for_statement left: (identifier) @name) @variable)
(assignment
  left: (attribute object: (identifier) @_made attribute: (identifier) @name)
  (#any-of? @_made "self" "cls")) @attribute
(assignment
  left: (pattern_list (attribute object: (identifier) @_made attribute: (identifier) @name))
  (#any-of? @_made "self" "cls")) @attribute

; What is declared in a branch of the module: a fallback for an import, a platform's own value.
(module (if_statement (block (expression_statement (assignment left: (identifier) @name) @variable))))
(module (if_statement (_ (block (expression_statement (assignment left: (identifier) @name) @variable)))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name) @variable))))
(module (try_statement (_ (block (expression_statement (assignment left: (identifier) @name) @variable)))))
(module (if_statement (block (_ (block (expression_statement (assignment left: (identifier) @name) @variable))))))
(module (if_statement (block (for_statement left: (identifier) @name) @variable)))
(module (if_statement (block (with_statement (with_clause (with_item value: (as_pattern alias: (as_pattern_target (identifier) @name))))) @variable)))

; What instances have, where the class says so or several are set at once.
(assignment
  left: (tuple_pattern (attribute object: (identifier) @_made attribute: (identifier) @name))
  (#any-of? @_made "self" "cls")) @attribute
(class_definition body: (block (expression_statement (assignment
  left: (identifier) @_made right: [
    (list (string (string_content) @name))
    (tuple (string (string_content) @name))
    (set (string (string_content) @name))])
  (#eq? @_made "__slots__")) @field))
