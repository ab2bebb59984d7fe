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
  new-checkout:
    state: ENABLED
    variants: { "on": true, "off": false }
    defaultVariant: "off"
    targeting:
      fractional: [["on", 10], ["off", 90]]
`;

export const exampleContext = `{
  "targetingKey": "user-1",
  "email": "ada@example.com"
}
`;
