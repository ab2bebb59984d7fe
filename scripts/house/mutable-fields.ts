import ts from "typescript";
import { countOf, type Figure, type Offender } from "./figure.js";
import { forEachNode, lineOf, type ProductFile } from "./product-file.js";

/** More fields than this that change are a state that has no name. */
export const mostMutableFields = 9;

/** The classes whose state is spread over many fields. A readonly field that holds a Map does not count. */
export function mutableFields(files: readonly ProductFile[]): Figure {
  const classes: { readonly fields: number; readonly place: Offender }[] = [];
  for (const product of files) {
    forEachNode(product.source, (node) => {
      if (!ts.isClassLike(node)) return;
      const fields = node.members.filter(isMutableField).length;
      if (fields <= mostMutableFields) return;
      const text = `${node.name?.text ?? "class"}: ${fields} fields that change`;
      classes.push({ fields, place: { file: product.file, line: lineOf(product, node), text } });
    });
  }
  classes.sort((a, b) => b.fields - a.fields);
  return countOf(
    `classes with over ${mostMutableFields} mutable fields`,
    classes.map(({ place }) => place),
  );
}

function isMutableField(member: ts.ClassElement): boolean {
  if (!ts.isPropertyDeclaration(member)) return false;
  const kinds = (member.modifiers ?? []).map(({ kind }) => kind);
  return !kinds.some(
    (kind) => kind === ts.SyntaxKind.ReadonlyKeyword || kind === ts.SyntaxKind.StaticKeyword,
  );
}
