// Swagger UI over this server's own document. It asks nobody else.
// The error codes stand beside it where there is room, and above it, closed, where there is not.
const codes = document.querySelector('.codes')
const wide = matchMedia('(width >= 80rem)')
const place = () => {
  codes.open = wide.matches
}
place()
wide.addEventListener('change', place)
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reader',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  displayRequestDuration: true,
  validatorUrl: null,
  syntaxHighlight: { activated: true },
})
