/** Limits of reading that are not settings. Reaching one is an error that names it. */
export const READING_LIMITS = {
  htmlBytesMax: 10 * 1024 * 1024,
  htmlDepthMax: 500,
  linksPerPageMax: 5000,
  pdfPagesMax: 5000,
} as const
