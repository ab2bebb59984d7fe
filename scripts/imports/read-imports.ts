import ts from "typescript";
import { exportedNames } from "./exported-names.js";

/** One import, or one `export … from`. */
export interface ModuleImport {
  readonly specifier: string;
  /** The names as the other module exports them, or `"all"`: a namespace, a dynamic import, or one for its effects. */
  readonly names: readonly string[] | "all";
  /** Gone at run time: a change of the other module can only break the types. */
  readonly isTypeOnly: boolean;
}

/** A name that a module passes on. `name` is what its own importers ask for; `original` is the name in the other module. */
export interface PassedOn {
  readonly specifier: string;
  readonly name: string;
  readonly original: string;
}

/** What one file says of others, without the places where these are. */
export interface FileImports {
  readonly imports: readonly ModuleImport[];
  readonly passesOn: readonly PassedOn[];
  /** The modules of `export * from`. */
  readonly passesAllOn: readonly string[];
  /** The names that the file declares and exports itself. */
  readonly declares: readonly string[];
  /** Nothing but `export … from`: such a file has no behaviour of its own. */
  readonly isIndex: boolean;
  /** Files that are named in strings: child processes, fixtures and documents that a test reads. */
  readonly namedFiles: readonly string[];
}

/** Reads the imports of a TypeScript or JavaScript file from its text. */
export function readImports(file: string, text: string): FileImports {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false);
  const imports: ModuleImport[] = [];
  const passesOn: PassedOn[] = [];
  const passesAllOn: string[] = [];
  const declares: string[] = [];
  let isIndex = source.statements.length > 0;
  for (const statement of source.statements) {
    if (ts.isExportDeclaration(statement) && isModule(statement.moduleSpecifier)) {
      const specifier = statement.moduleSpecifier.text;
      const clause = statement.exportClause;
      imports.push({ specifier, names: namesOf(clause), isTypeOnly: statement.isTypeOnly });
      if (clause === undefined) passesAllOn.push(specifier);
      else if (ts.isNamedExports(clause)) {
        for (const { name, propertyName } of clause.elements) {
          passesOn.push({ specifier, name: name.text, original: (propertyName ?? name).text });
        }
      } else isIndex = false;
      continue;
    }
    isIndex = false;
    if (ts.isImportDeclaration(statement) && isModule(statement.moduleSpecifier)) {
      const specifier = statement.moduleSpecifier.text;
      imports.push({ specifier, ...importedBy(statement.importClause) });
    } else declares.push(...exportedNames(statement));
  }
  if (text.includes("import(")) collectDynamic(source, imports);
  return { imports, passesOn, passesAllOn, declares, isIndex, namedFiles: namedFiles(text) };
}

function isModule(node: ts.Expression | undefined): node is ts.StringLiteral {
  return node !== undefined && ts.isStringLiteral(node);
}

function namesOf(clause: ts.NamedExportBindings | undefined): readonly string[] | "all" {
  if (clause === undefined || ts.isNamespaceExport(clause)) return "all";
  return clause.elements.map(({ name, propertyName }) => (propertyName ?? name).text);
}

function importedBy(clause: ts.ImportClause | undefined): Omit<ModuleImport, "specifier"> {
  if (clause === undefined) return { names: "all", isTypeOnly: false };
  const isTypeOnly = clause.phaseModifier === ts.SyntaxKind.TypeKeyword;
  const { namedBindings } = clause;
  if (namedBindings !== undefined && ts.isNamespaceImport(namedBindings)) return { names: "all", isTypeOnly };
  // Names that are marked as types are gone at run time, each for itself.
  const elements = (namedBindings?.elements ?? []).filter((element) => isTypeOnly || !element.isTypeOnly);
  const names = elements.map(({ name, propertyName }) => (propertyName ?? name).text);
  return { names: clause.name === undefined ? names : ["default", ...names], isTypeOnly };
}

function collectDynamic(node: ts.Node, imports: ModuleImport[]): void {
  ts.forEachChild(node, (child) => {
    if (ts.isCallExpression(child) && child.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = child.arguments;
      if (specifier !== undefined && ts.isStringLiteralLike(specifier)) {
        imports.push({ specifier: specifier.text, names: "all", isTypeOnly: false });
      }
    }
    if (ts.isImportTypeNode(child) && ts.isLiteralTypeNode(child.argument)) {
      const { literal } = child.argument;
      if (ts.isStringLiteral(literal))
        imports.push({ specifier: literal.text, names: "all", isTypeOnly: true });
    }
    collectDynamic(child, imports);
  });
}

function namedFiles(text: string): string[] {
  const found = text.matchAll(/["'`]([\w@./-]+\.(?:ts|mjs|cjs|json|ya?ml|proto|html|css|md|txt|pem))["'`]/g);
  return [...new Set([...found].map(([, name = ""]) => name))];
}
