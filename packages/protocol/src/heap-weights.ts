/**
 * What the parts of a flag document take of V8's heap, in bytes, for the two things that are done with one:
 *
 * - `encoding`: it is parsed, and encoded for subscribers, as a proxy does. This is the peak while that goes on; of an ordinary
 *   document half of it stays. `documentHeapBytes` adds it up, and HeapRoom compares it with what is free. Found as what
 *   documents of eight shapes, of 4 MB each, needed at the least with the flags of the image.
 * - `serving`: it is parsed, its rules are compiled, and both stay, as in an agent. The agent's JsonScanner adds it up on its way
 *   through a document, and HeapBudget compares it with the share of flags. Fitted to documents of 15 shapes, one kind of part
 *   after the other, and above the measured values for nearly all of them: docs/memory.md has the figures.
 *
 * Neither is a bound of the other. A long text is copied four times by `encoding` and stays once; an operator of a rule is an object
 * to a proxy, and a closure besides to an agent. Both are held to the same shapes in processes with small heaps: heap-budget.test.ts
 * and encoding-heap.test.ts. What a text takes while its syntax is read is another matter: files, text/read-json.ts and read-yaml.ts.
 */
export const heapWeights = {
  encoding: {
    /** Each byte of the document. */
    byte: 4,
    /** The same, where a character is beyond Latin-1: V8 then takes two bytes for each of the text. */
    wideByte: 6,
    object: 48,
    list: 24,
    /** Each comma, and each text beside its characters. */
    item: 12,
    /** Each colon. In an object of many keys, a key takes three words, twice where it has grown. */
    property: 26,
    /** A flag has a hash and a text of its own, which is most of a small one. */
    flag: 320,
    /** Each byte of a document that is held already, and encoded once more; most of it is allocated. */
    heldByte: 4,
  },
  serving: {
    /** Each byte of a text; of one with a character beyond Latin-1; and of such a one that is long. */
    textByte: 1,
    wideByte: 2,
    /** Such a text is a burden each time it is copied: four times on its way to an in-process provider. */
    longWideByte: 8,
    /** Texts of one flag beyond this size, together, are long. */
    longTextBytes: 64 * 1024,
    /** Half of it is for the closure that an operator of a rule is compiled to. */
    object: 152,
    list: 48,
    /** A list below so many levels takes so much more: it may be the only item of the list around, and have no comma. */
    deepLevel: 16,
    deepList: 32,
    /** Each comma. Also a number that needs an object of its own. */
    item: 24,
    /** Each colon. */
    property: 40,
    /** An object of more members than this is a table to V8, with room for up to twice as many, in which each takes so much more. */
    wideObject: 24,
    wideMember: 128,
    /** A text without its characters. */
    string: 24,
    /** A flag besides its text: the Flag, its Map of variants, its entries in indexes. */
    flag: 900,
    /** Each byte of an evaluator, for each flag that refers to it: in-process providers get it written out. */
    referencedByte: 2,
  },
} as const;
