/** How deeply objects and lists may be nested in a context of protobuf, whose reader is recursive. */
export const maxNesting = 64;

/** How many values a request may have: small ones take far more memory than they have bytes. Several times what a large context has. */
export const maxValues = 100_000;
