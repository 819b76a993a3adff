//! The kinds of tree-sitter nodes that lowering tells apart, resolved once from the
//! grammar's names to its numeric ids.

use std::sync::LazyLock;

macro_rules! kinds {
    ($($variant:ident $name:literal $named:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Kind {
            $($variant,)*
            Other,
            Error,
        }

        const KINDS: &[(&str, bool, Kind)] = &[$(($name, $named, Kind::$variant),)*];
    };
}

kinds! {
    // Expressions, up to `SplatType`.
    Identifier "identifier" true,
    Attribute "attribute" true,
    Call "call" true,
    Subscript "subscript" true,
    Str "string" true,
    Strings "concatenated_string" true,
    Integer "integer" true,
    Float "float" true,
    True "true" true,
    False "false" true,
    None "none" true,
    Ellipsis "ellipsis" true,
    List "list" true,
    Tuple "tuple" true,
    Set "set" true,
    Dictionary "dictionary" true,
    ListComprehension "list_comprehension" true,
    SetComprehension "set_comprehension" true,
    DictionaryComprehension "dictionary_comprehension" true,
    Generator "generator_expression" true,
    Binary "binary_operator" true,
    Boolean "boolean_operator" true,
    Comparison "comparison_operator" true,
    NotOperator "not_operator" true,
    Unary "unary_operator" true,
    Parenthesized "parenthesized_expression" true,
    Conditional "conditional_expression" true,
    Lambda "lambda" true,
    Named "named_expression" true,
    Await "await" true,
    Yield "yield" true,
    ListSplat "list_splat" true,
    ListSplatPattern "list_splat_pattern" true,
    Slice "slice" true,
    AsPattern "as_pattern" true,
    AsPatternTarget "as_pattern_target" true,
    ExpressionList "expression_list" true,
    PatternList "pattern_list" true,
    TuplePattern "tuple_pattern" true,
    ListPattern "list_pattern" true,
    Type "type" true,
    GenericType "generic_type" true,
    UnionType "union_type" true,
    MemberType "member_type" true,
    ConstrainedType "constrained_type" true,
    SplatType "splat_type" true,
    // Statements, from `ExpressionStatement` up to `TypeAlias`.
    ExpressionStatement "expression_statement" true,
    Import "import_statement" true,
    ImportFrom "import_from_statement" true,
    FutureImport "future_import_statement" true,
    Print "print_statement" true,
    Exec "exec_statement" true,
    Assert "assert_statement" true,
    Return "return_statement" true,
    Delete "delete_statement" true,
    Raise "raise_statement" true,
    Pass "pass_statement" true,
    Break "break_statement" true,
    Continue "continue_statement" true,
    Global "global_statement" true,
    Nonlocal "nonlocal_statement" true,
    If "if_statement" true,
    For "for_statement" true,
    While "while_statement" true,
    Try "try_statement" true,
    With "with_statement" true,
    Function "function_definition" true,
    Class "class_definition" true,
    Decorated "decorated_definition" true,
    Match "match_statement" true,
    TypeAlias "type_alias_statement" true,
    // Parts of them.
    Assignment "assignment" true,
    Augmented "augmented_assignment" true,
    Block "block" true,
    ElifClause "elif_clause" true,
    ElseClause "else_clause" true,
    ExceptClause "except_clause" true,
    FinallyClause "finally_clause" true,
    CaseClause "case_clause" true,
    WithClause "with_clause" true,
    WithItem "with_item" true,
    Decorator "decorator" true,
    Arguments "argument_list" true,
    KeywordArgument "keyword_argument" true,
    DictionarySplat "dictionary_splat" true,
    DictionarySplatPattern "dictionary_splat_pattern" true,
    Pair "pair" true,
    ForInClause "for_in_clause" true,
    IfClause "if_clause" true,
    Interpolation "interpolation" true,
    FormatSpecifier "format_specifier" true,
    FormatExpression "format_expression" true,
    Parameters "parameters" true,
    LambdaParameters "lambda_parameters" true,
    TypedParameter "typed_parameter" true,
    DefaultParameter "default_parameter" true,
    TypedDefaultParameter "typed_default_parameter" true,
    KeywordSeparator "keyword_separator" true,
    PositionalSeparator "positional_separator" true,
    TypeParameter "type_parameter" true,
    DottedName "dotted_name" true,
    AliasedImport "aliased_import" true,
    RelativeImport "relative_import" true,
    ImportPrefix "import_prefix" true,
    Wildcard "wildcard_import" true,
    Chevron "chevron" true,
    CasePattern "case_pattern" true,
    ClassPattern "class_pattern" true,
    KeywordPattern "keyword_pattern" true,
    SplatPattern "splat_pattern" true,
    UnionPattern "union_pattern" true,
    DictPattern "dict_pattern" true,
    Comment "comment" true,
    LineContinuation "line_continuation" true,
    // Tokens.
    Equals "=" false,
    Colon ":" false,
    Comma "," false,
    Underscore "_" false,
    AsyncToken "async" false,
    FromToken "from" false,
    ImportToken "import" false,
    InToken "in" false,
    AndToken "and" false,
    OrToken "or" false,
    Plus "+" false,
    Minus "-" false,
    Star "*" false,
    Slash "/" false,
    SlashSlash "//" false,
    Percent "%" false,
    StarStar "**" false,
    At "@" false,
    Ampersand "&" false,
    Bar "|" false,
    Caret "^" false,
    ShiftLeft "<<" false,
    ShiftRight ">>" false,
    Tilde "~" false,
    PlusEquals "+=" false,
    MinusEquals "-=" false,
    StarEquals "*=" false,
    SlashEquals "/=" false,
    SlashSlashEquals "//=" false,
    PercentEquals "%=" false,
    StarStarEquals "**=" false,
    AtEquals "@=" false,
    AmpersandEquals "&=" false,
    BarEquals "|=" false,
    CaretEquals "^=" false,
    ShiftLeftEquals "<<=" false,
    ShiftRightEquals ">>=" false,
    EqualsEquals "==" false,
    NotEquals "!=" false,
    LessGreater "<>" false,
    Less "<" false,
    LessEquals "<=" false,
    Greater ">" false,
    GreaterEquals ">=" false,
    IsToken "is" false,
    IsNot "is not" false,
    NotIn "not in" false,
}

impl Kind {
    pub(super) fn is_expr(self) -> bool {
        self as u8 <= Kind::SplatType as u8
    }

    pub(super) fn is_stmt(self) -> bool {
        (Kind::ExpressionStatement as u8..=Kind::TypeAlias as u8).contains(&(self as u8))
    }

    pub(super) fn is_extra(self) -> bool {
        matches!(self, Kind::Comment | Kind::LineContinuation)
    }
}

static TABLE: LazyLock<Box<[Kind]>> = LazyLock::new(|| {
    let language = tree_sitter::Language::new(tree_sitter_python::LANGUAGE);
    let of = |id: u16| {
        let name = language.node_kind_for_id(id)?;
        let named = language.node_kind_is_named(id);
        KINDS.iter().find(|(n, is_named, _)| *n == name && *is_named == named).map(|(.., kind)| *kind)
    };
    (0..language.node_kind_count() as u16).map(|id| of(id).unwrap_or(Kind::Other)).collect()
});

/// The kind of every id below its length; past it lies only the id of error nodes.
pub(super) fn table() -> &'static [Kind] {
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_exists_in_the_grammar() {
        let missing: Vec<_> = KINDS.iter().filter(|(.., kind)| !TABLE.contains(kind)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
