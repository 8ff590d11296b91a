#include "alloc/cel/parser.h"

#include <algorithm>
#include <optional>

#include "alloc/cel/lexer.h"
#include "alloc/cel/macro.h"
#include "alloc/cel/token_value.h"

namespace galen::alloc::cel {
namespace {

using ExpressionKind = Expression::Kind;

// Words that no variable or function may be called; fields may.
constexpr std::string_view kReservedNames[] = {
    "as",       "break",     "const",  "continue", "else", "false", "for",
    "function", "if",        "import", "in",       "let",  "loop",  "null",
    "package",  "namespace", "return", "true",     "var",  "void",  "while"};

bool IsReserved(std::string_view name) {
  return std::find(std::begin(kReservedNames), std::end(kReservedNames), name) !=
         std::end(kReservedNames);
}

// Not names at all for the grammar, so not fields either.
bool IsLiteralWord(std::string_view name) {
  return name == "true" || name == "false" || name == "null" || name == "in";
}

// Recursive descent, a function for each level of precedence.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  StatusOr<ExpressionPointer> Run() {
    ASSIGN_OR_RETURN(ExpressionPointer expression, Expr());
    if (Now().kind != Token::Kind::kEnd) return Unexpected();
    return expression;
  }

 private:
  using Result = StatusOr<ExpressionPointer>;

  // ---- Tokens
  const Token& Now() const { return tokens_[at_]; }
  const Token& Ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  static bool IsSymbol(const Token& token, std::string_view symbol) {
    return token.kind == Token::Kind::kSymbol && token.text == symbol;
  }
  bool Is(std::string_view symbol) const { return IsSymbol(Now(), symbol); }
  bool Accept(std::string_view symbol) {
    if (!Is(symbol)) return false;
    ++at_;
    return true;
  }
  Status Expect(std::string_view symbol) {
    if (Accept(symbol)) return OkStatus();
    return InvalidArgument("{}: expected \"{}\"", ToString(Now().position), symbol);
  }
  Status Unexpected() const {
    if (Now().kind == Token::Kind::kEnd) {
      return InvalidArgument("{}: the expression ends too early", ToString(Now().position));
    }
    return InvalidArgument("{}: unexpected \"{}\"", ToString(Now().position), Now().text);
  }

  // ---- Making expressions
  static ExpressionPointer New(ExpressionKind kind, Position position, std::string text = {}) {
    auto expression = std::make_unique<Expression>();
    expression->kind = kind;
    expression->position = position;
    expression->text = std::move(text);
    return expression;
  }
  static Result Binary(std::string function, Position position, ExpressionPointer left,
                       ExpressionPointer right) {
    ExpressionPointer call = New(ExpressionKind::kCall, position, std::move(function));
    call->children.push_back(std::move(left));
    call->children.push_back(std::move(right));
    return Checked(std::move(call));
  }

  // ---- Levels of precedence, loosest first
  Result Expr() {
    if (++nesting_ > kDepthMax) {
      return InvalidArgument("{}: nested too deep", ToString(Now().position));
    }
    Result result = Conditional();
    --nesting_;
    return result;
  }

  Result Conditional() {
    ASSIGN_OR_RETURN(ExpressionPointer condition, Logical("||", ExpressionKind::kOr));
    if (!Is("?")) return condition;
    ExpressionPointer choice = New(ExpressionKind::kConditional, Now().position);
    ++at_;
    choice->children.push_back(std::move(condition));
    ASSIGN_OR_RETURN(ExpressionPointer then, Logical("||", ExpressionKind::kOr));
    choice->children.push_back(std::move(then));
    RETURN_IF_ERROR(Expect(":"));
    ASSIGN_OR_RETURN(ExpressionPointer otherwise, Expr());
    choice->children.push_back(std::move(otherwise));
    return Checked(std::move(choice));
  }

  Result Logical(std::string_view symbol, ExpressionKind kind) {
    const auto next = [&] {
      return kind == ExpressionKind::kOr ? Logical("&&", ExpressionKind::kAnd) : Relation();
    };
    ASSIGN_OR_RETURN(ExpressionPointer first, next());
    if (!Is(symbol)) return first;
    ExpressionPointer all = New(kind, Now().position);
    all->children.push_back(std::move(first));
    while (Accept(symbol)) {
      ASSIGN_OR_RETURN(ExpressionPointer other, next());
      all->children.push_back(std::move(other));
    }
    return Checked(std::move(all));
  }

  // The name of the function that the token is, as an operator between two; "" for none.
  std::string RelationHere() const {
    for (const std::string_view symbol : {"<", "<=", ">=", ">", "==", "!="}) {
      if (Is(symbol)) return fmt::format("_{}_", symbol);
    }
    return Now().kind == Token::Kind::kName && Now().text == "in" ? "@in" : "";
  }
  Result Relation() {
    ASSIGN_OR_RETURN(ExpressionPointer left, Sum());
    for (std::string function = RelationHere(); !function.empty(); function = RelationHere()) {
      const Position position = Now().position;
      ++at_;
      ASSIGN_OR_RETURN(ExpressionPointer right, Sum());
      ASSIGN_OR_RETURN(left,
                       Binary(std::move(function), position, std::move(left), std::move(right)));
    }
    return left;
  }

  bool IsAny(std::string_view symbols) const {
    return Now().kind == Token::Kind::kSymbol && Now().text.size() == 1 &&
           symbols.find(Now().text[0]) != std::string_view::npos;
  }
  Result Sum() {
    return Chain("+-", [this] { return Product(); });
  }
  Result Product() {
    return Chain("*/%", [this] { return Unary(); });
  }
  template <typename Next>
  Result Chain(std::string_view symbols, Next next) {
    ASSIGN_OR_RETURN(ExpressionPointer left, next());
    while (IsAny(symbols)) {
      const Token& symbol = Now();
      ++at_;
      ASSIGN_OR_RETURN(ExpressionPointer right, next());
      ASSIGN_OR_RETURN(left, Binary(fmt::format("_{}_", symbol.text), symbol.position,
                                    std::move(left), std::move(right)));
    }
    return left;
  }

  bool StartsNegativeNumber() const {
    return Is("-") && (Ahead().kind == Token::Kind::kInt || Ahead().kind == Token::Kind::kDouble);
  }
  Result Unary() {
    if (!Is("!") && (!Is("-") || StartsNegativeNumber())) return Member();
    const Token& symbol = Now();
    std::size_t count = 0;
    for (; Is(symbol.text); ++at_) ++count;
    ASSIGN_OR_RETURN(ExpressionPointer operand, Member());
    if (count % 2 == 0) return operand;
    ExpressionPointer call = New(ExpressionKind::kCall, symbol.position, symbol.text + "_");
    call->children.push_back(std::move(operand));
    return Checked(std::move(call));
  }

  // ---- What is selected, indexed and called
  Result Member() {
    ASSIGN_OR_RETURN(ExpressionPointer operand, Primary());
    for (;;) {
      if (Is(".")) {
        ASSIGN_OR_RETURN(operand, Selection(std::move(operand)));
      } else if (Is("[")) {
        ASSIGN_OR_RETURN(operand, Index(std::move(operand)));
      } else if (Is("{") && IsQualifiedName(*operand)) {
        ASSIGN_OR_RETURN(operand, Message(std::move(operand)));
      } else {
        return operand;
      }
    }
  }

  static bool IsQualifiedName(const Expression& expression) {
    if (expression.kind == ExpressionKind::kName) return true;
    return expression.kind == ExpressionKind::kSelect && !expression.optional &&
           IsQualifiedName(*expression.children[0]);
  }

  Result Selection(ExpressionPointer operand) {
    const Position position = Now().position;
    ++at_;
    const bool optional = Accept("?");
    const bool quoted = Now().kind == Token::Kind::kQuotedName;
    if (!quoted && (Now().kind != Token::Kind::kName || IsLiteralWord(Now().text))) {
      return Unexpected();
    }
    std::string name = Now().text;
    ++at_;
    if (!optional && !quoted && Is("(")) {
      ExpressionPointer call = New(ExpressionKind::kCall, Now().position, std::move(name));
      call->has_target = true;
      call->children.push_back(std::move(operand));
      return Arguments(std::move(call));
    }
    ExpressionPointer select = New(ExpressionKind::kSelect, position, std::move(name));
    select->optional = optional;
    select->children.push_back(std::move(operand));
    return Checked(std::move(select));
  }

  Result Index(ExpressionPointer operand) {
    ExpressionPointer index = New(ExpressionKind::kIndex, Now().position);
    ++at_;
    index->optional = Accept("?");
    index->children.push_back(std::move(operand));
    ASSIGN_OR_RETURN(ExpressionPointer at, Expr());
    index->children.push_back(std::move(at));
    RETURN_IF_ERROR(Expect("]"));
    return Checked(std::move(index));
  }

  // REQUIRES: at the opening bracket; a call that has its target, if any.
  Result Arguments(ExpressionPointer call) {
    ++at_;
    if (!Accept(")")) {
      do {
        ASSIGN_OR_RETURN(ExpressionPointer argument, Expr());
        call->children.push_back(std::move(argument));
      } while (Accept(","));
      RETURN_IF_ERROR(Expect(")"));
    }
    ASSIGN_OR_RETURN(call, Checked(std::move(call)));
    return ExpandMacro(std::move(call));
  }

  Result Primary() {
    const Token& token = Now();
    if (Is("(")) return Nested();
    if (Is("[")) return ListLiteral();
    if (Is("{")) return MapLiteral();
    if (Is(".")) return Name(true);
    if (token.kind == Token::Kind::kName && !IsLiteralWord(token.text)) return Name(false);
    return Literal();
  }

  Result Nested() {
    ++at_;
    ASSIGN_OR_RETURN(ExpressionPointer expression, Expr());
    RETURN_IF_ERROR(Expect(")"));
    return expression;
  }

  Result Name(bool leading_dot) {
    if (leading_dot) ++at_;
    if (Now().kind != Token::Kind::kName || IsLiteralWord(Now().text)) return Unexpected();
    if (IsReserved(Now().text)) {
      return InvalidArgument("{}: {} is reserved", ToString(Now().position), Now().text);
    }
    ExpressionPointer name =
        New(ExpressionKind::kName, Now().position, (leading_dot ? "." : "") + Now().text);
    ++at_;
    if (!Is("(")) return name;
    name->kind = ExpressionKind::kCall;
    name->position = Now().position;
    return Arguments(std::move(name));
  }

  Result ListLiteral() {
    ExpressionPointer list = New(ExpressionKind::kList, Now().position);
    ++at_;
    while (!Is("]") && !Is(",")) {
      ASSIGN_OR_RETURN(ExpressionPointer element, OptionalExpr());
      list->children.push_back(std::move(element));
      if (!Accept(",")) break;
      if (Is("]")) break;
      if (Is(",")) return Unexpected();
    }
    if (list->children.empty()) Accept(",");
    RETURN_IF_ERROR(Expect("]"));
    return Checked(std::move(list));
  }

  // "?" and an expression. The mark is the element's, not a part of what it says.
  Result OptionalExpr() {
    const bool optional = Accept("?");
    ASSIGN_OR_RETURN(ExpressionPointer expression, Expr());
    if (!optional) return expression;
    return Marked(std::move(expression));
  }
  // Around what may itself be marked, as in [?a[?0]].
  static Result Marked(ExpressionPointer expression) {
    ExpressionPointer marked = New(ExpressionKind::kMarked, expression->position);
    marked->children.push_back(std::move(expression));
    return Checked(std::move(marked));
  }

  Result MapLiteral() {
    ExpressionPointer map = New(ExpressionKind::kMap, Now().position);
    ++at_;
    while (!Is("}") && !Is(",")) {
      const bool optional = Accept("?");
      ASSIGN_OR_RETURN(ExpressionPointer key, Expr());
      RETURN_IF_ERROR(Expect(":"));
      ASSIGN_OR_RETURN(ExpressionPointer value, Expr());
      if (optional) {
        ASSIGN_OR_RETURN(value, Marked(std::move(value)));
      }
      map->children.push_back(std::move(key));
      map->children.push_back(std::move(value));
      if (!Accept(",")) break;
    }
    if (map->children.empty()) Accept(",");
    RETURN_IF_ERROR(Expect("}"));
    return Checked(std::move(map));
  }

  // Its fields are read, and nothing made of them: no type of this environment has any.
  Result Message(ExpressionPointer type) {
    ExpressionPointer message = New(ExpressionKind::kMessage, Now().position);
    message->children.push_back(std::move(type));
    ++at_;
    while (!Is("}") && !Is(",")) {
      Accept("?");
      if (Now().kind != Token::Kind::kName && Now().kind != Token::Kind::kQuotedName) {
        return Unexpected();
      }
      ++at_;
      RETURN_IF_ERROR(Expect(":"));
      ASSIGN_OR_RETURN(ExpressionPointer value, Expr());
      message->children.push_back(std::move(value));
      if (!Accept(",")) break;
    }
    if (message->children.size() == 1) Accept(",");
    RETURN_IF_ERROR(Expect("}"));
    return Checked(std::move(message));
  }

  // ---- Literals
  Result Literal() {
    const bool negative = StartsNegativeNumber();
    const Position position = Now().position;
    if (negative) ++at_;
    const Token& token = Now();
    ExpressionPointer literal = New(ExpressionKind::kConstant, position, token.text);
    const std::optional<Value> value = ValueOf(token, negative, literal->text);
    if (!value) {
      if (token.kind == Token::Kind::kInt || token.kind == Token::Kind::kUint ||
          token.kind == Token::Kind::kDouble) {
        return InvalidArgument("{}: {} is no number that fits", ToString(position), token.text);
      }
      return Unexpected();
    }
    literal->constant = *value;
    ++at_;
    return literal;
  }

  const std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

StatusOr<ExpressionPointer> Parse(std::string_view text) {
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(text));
  return Parser(std::move(tokens)).Run();
}

}  // namespace galen::alloc::cel
