/** A picture, imported as text. */
declare module '*.svg' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: what an import of a file is
  export default text
}
