import { isAlias, isNode, visit } from 'yaml';
import type { Node } from 'yaml';
import type { ProjectDocument } from './projectDocument.ts';
import { writtenOut } from './yamlNodes.ts';

/** Gives each anchor a name of its own, and writes out what aliases stand for whose anchor is gone. */
export function repairAnchors(project: ProjectDocument): void {
  const names = new Map<Node, string>();
  const taken = new Set<string>();
  visit(project.document, (_, node) => {
    if (!isNode(node)) return undefined;
    if (!isAlias(node)) {
      const { anchor } = node as { anchor?: string };
      if (anchor !== undefined) (node as { anchor?: string }).anchor = nameAnchor(node, anchor, { names, taken });
      return undefined;
    }
    const target = project.targets.get(node);
    const name = target === undefined ? undefined : names.get(target);
    if (name === undefined) return writtenOut(node, project) ?? visit.REMOVE;
    node.source = name;
    return undefined;
  });
}

interface Names {
  names: Map<Node, string>;
  taken: Set<string>;
}

function nameAnchor(node: Node, anchor: string, { names, taken }: Names): string {
  const plain = anchor.replace(/[^\w-]/g, '-');
  let name = plain;
  for (let count = 2; taken.has(name); count++) name = `${plain}-${count}`;
  taken.add(name);
  names.set(node, name);
  return name;
}
