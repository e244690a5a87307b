declare module '*.zst' {
  const path: string
  // biome-ignore lint/style/noDefaultExport: a file is imported so.
  export default path
}
