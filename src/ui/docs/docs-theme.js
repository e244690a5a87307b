// Applies the light or dark theme chosen in the page, or the system's, before anything is drawn.
const systemDark = matchMedia('(prefers-color-scheme: dark)')
const THEMES = ['system', 'light', 'dark']

function chosenTheme() {
  try {
    return localStorage.getItem('eider.theme') ?? 'system'
  } catch {
    // If nothing is stored, the system's theme applies.
    return 'system'
  }
}

function showTheme() {
  const chosen = chosenTheme()
  const { classList, dataset } = document.documentElement
  dataset.theme = chosen
  // The class that the API viewer uses.
  const isDark = chosen === 'dark' || (chosen !== 'light' && systemDark.matches)
  classList.toggle('dark-mode', isDark)
  const button = document.getElementById('theme')
  if (button === null) return
  button.textContent = '◐'
  button.title = `Colours: ${chosen}`
  button.setAttribute('aria-label', button.title)
}

showTheme()
systemDark.addEventListener('change', showTheme)
addEventListener('storage', showTheme)
addEventListener('DOMContentLoaded', () => {
  showTheme()
  document.getElementById('theme').addEventListener('click', () => {
    const next = THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length]
    try {
      localStorage.setItem('eider.theme', next)
    } catch {
      // Storage is not available, so the choice lasts only until the page is closed.
    }
    showTheme()
  })
})
