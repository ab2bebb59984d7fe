/** Flags and context that the page begins with. */
export const exampleFlags = `flags:
  banner:
    state: ENABLED
    variants:
      plain: Welcome.
      festive: Welcome, and happy holidays!
    defaultVariant: plain
    targeting:
      if:
        - ends_with: [{ var: email }, "@example.com"]
        - festive
        - null
`;

export const exampleContext = `{
  "targetingKey": "user-1",
  "email": "ada@example.com"
}
`;
