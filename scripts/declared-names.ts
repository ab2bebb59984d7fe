import { readFileSync } from "node:fs";
import ts from "typescript";

/** The names that a reader finds in a file: what it imports and declares, members, parameters, and properties that it uses; no local variables. */
export function declaredNames(file: string): ReadonlySet<string> {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.ESNext, true);
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && !isLocal(node)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/** Of variables, only those of the file itself are no local ones; of other identifiers, only what stands for a variable's use is. */
function isLocal({ parent }: ts.Identifier): boolean {
  if (ts.isVariableDeclaration(parent)) return !ts.isSourceFile(parent.parent.parent.parent);
  return !(
    ts.isImportSpecifier(parent) ||
    ts.isPropertyAccessExpression(parent) ||
    ts.isParameter(parent) ||
    ts.isTypeReferenceNode(parent) ||
    ts.isClassElement(parent) ||
    ts.isTypeElement(parent) ||
    ts.isObjectLiteralElement(parent) ||
    ts.isDeclarationStatement(parent)
  );
}
