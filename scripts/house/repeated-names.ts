import ts from "typescript";
import { exportedNames } from "../imports/exported-names.js";
import { countOf, type Figure, type Offender } from "./figure.js";
import { lineOf, type ProductFile } from "./product-file.js";

/**
 * The exported names that several files declare: each means one thing here and another there. Passing a name on is no declaration, and
 * an interface and a constant of one name in one file are one thing. Types are what a reader looks up; functions and constants are counted
 * apart, because some of them are the same thing in each program (its version, its metrics).
 */
export function repeatedNames(files: readonly ProductFile[]): Figure[] {
  return [
    countOf("types with several meanings", repeated(files, isType)),
    countOf(
      "functions with several meanings",
      repeated(files, (statement) => !isType(statement)),
    ),
  ];
}

function repeated(
  files: readonly ProductFile[],
  isCounted: (statement: ts.Statement) => boolean,
): Offender[] {
  const places = new Map<string, Offender[]>();
  for (const product of files) {
    for (const statement of product.source.statements.filter(isCounted)) {
      for (const name of exportedNames(statement)) {
        const known = places.get(name) ?? [];
        if (known.some(({ file }) => file === product.file)) continue;
        places.set(name, [...known, { file: product.file, line: lineOf(product, statement), text: name }]);
      }
    }
  }
  const several = [...places.values()].filter(({ length }) => length > 1);
  several.sort((a, b) => b.length - a.length);
  return several.flatMap(([first, ...others]) => (first === undefined ? [] : [withOthers(first, others)]));
}

function isType(statement: ts.Statement): boolean {
  return (
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isEnumDeclaration(statement)
  );
}

function withOthers(first: Offender, others: readonly Offender[]): Offender {
  const also = others.map(({ file, line }) => `${file}:${line}`).join(", ");
  return { ...first, text: `${first.text}, and in ${also}` };
}
