/** Option name in lower case → value: text, number, boolean, null, list or object. */
export type Options = Readonly<Record<string, unknown>>
