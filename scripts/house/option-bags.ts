import ts from "typescript";
import { countOf, type Figure, type Offender } from "./figure.js";
import { forEachNode, lineOf, type ProductFile } from "./product-file.js";

/** More members than this are several things in one bag. */
export const mostMembers = 6;

/** The types that hand many things to a constructor or a function. What they inherit is counted where it is declared. */
export function optionBags(files: readonly ProductFile[]): Figure {
  const bags: { readonly members: number; readonly place: Offender }[] = [];
  for (const product of files) {
    forEachNode(product.source, (node) => {
      if (!ts.isInterfaceDeclaration(node) && !ts.isTypeAliasDeclaration(node)) return;
      if (!/(Options|Parts|Context|Shared)$/.test(node.name.text)) return;
      const members = ts.isInterfaceDeclaration(node) ? node.members.length : membersOf(node.type);
      if (members <= mostMembers) return;
      const text = `${node.name.text}: ${members} members`;
      bags.push({ members, place: { file: product.file, line: lineOf(product, node), text } });
    });
  }
  bags.sort((a, b) => b.members - a.members);
  return countOf(
    `option bags over ${mostMembers} members`,
    bags.map(({ place }) => place),
  );
}

function membersOf(type: ts.TypeNode): number {
  if (ts.isTypeLiteralNode(type)) return type.members.length;
  // `Base & { … }`: what is written out here.
  if (ts.isIntersectionTypeNode(type)) return type.types.reduce((sum, part) => sum + membersOf(part), 0);
  return 0;
}
