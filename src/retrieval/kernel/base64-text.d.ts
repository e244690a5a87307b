/** A compiled module imported as text. */
declare module '*.base64' {
  const text: string
  // biome-ignore lint/style/noDefaultExport: what an import of a file is
  export default text
}
