import ts from "typescript";

/** One small change of a source that a test should notice. */
export interface Mutation {
  readonly line: number;
  /** Such as `a < b → a <= b`. */
  readonly description: string;
  /** The whole source with the change. */
  readonly text: string;
}

const operators: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [ts.SyntaxKind.EqualsEqualsEqualsToken, "!=="],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, "==="],
  [ts.SyntaxKind.LessThanToken, "<="],
  [ts.SyntaxKind.LessThanEqualsToken, "<"],
  [ts.SyntaxKind.GreaterThanToken, ">="],
  [ts.SyntaxKind.GreaterThanEqualsToken, ">"],
  [ts.SyntaxKind.AmpersandAmpersandToken, "||"],
  [ts.SyntaxKind.BarBarToken, "&&"],
  [ts.SyntaxKind.PlusToken, "-"],
  [ts.SyntaxKind.MinusToken, "+"],
]);

/**
 * Every mutation of a source: an operator turned, a condition that always or never holds, a value that is not returned, a call that is not
 * made, `true` for `false`. They need not have the right types: tests run without types.
 */
export function mutationsOf(fileName: string, text: string): Mutation[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
  const mutations: Mutation[] = [];
  const replace = (node: ts.Node, replacement: string, shown: ts.Node = node): void => {
    const [start, end] = [node.getStart(source), node.getEnd()];
    const before = text.slice(shown.getStart(source), shown.getEnd());
    const after = text.slice(shown.getStart(source), start) + replacement + text.slice(end, shown.getEnd());
    mutations.push({
      line: source.getLineAndCharacterOfPosition(start).line + 1,
      description: `${shortened(before)} → ${shortened(after)}`,
      text: text.slice(0, start) + replacement + text.slice(end),
    });
  };
  const visit = (node: ts.Node): void => {
    // A type is no code, and neither is what is imported.
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const turned = operators.get(node.operatorToken.kind);
      if (turned !== undefined) replace(node.operatorToken, turned, node);
    }
    const condition = conditionOf(node);
    if (condition !== undefined) {
      replace(condition, "true");
      replace(condition, "false");
    }
    if (ts.isReturnStatement(node) && node.expression !== undefined) replace(node, "return undefined;");
    if (ts.isExpressionStatement(node) && isCall(node.expression)) replace(node, ";");
    if (node.kind === ts.SyntaxKind.TrueKeyword) replace(node, "false", node.parent);
    if (node.kind === ts.SyntaxKind.FalseKeyword) replace(node, "true", node.parent);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return mutations.filter((mutation) => mutation.text !== text);
}

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isIfStatement(node)) return node.expression;
  return ts.isConditionalExpression(node) ? node.condition : undefined;
}

/** Not `super()`, without which nothing works. */
function isCall(expression: ts.Expression): boolean {
  const called = ts.isAwaitExpression(expression) ? expression.expression : expression;
  return ts.isCallExpression(called) && called.expression.kind !== ts.SyntaxKind.SuperKeyword;
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 60 ? `${line.slice(0, 57)}...` : line;
}
