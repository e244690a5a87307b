// Dark or light as it was chosen in the page, or as the system says. It runs before anything is drawn.
const systemDark = matchMedia('(prefers-color-scheme: dark)')
const THEMES = ['system', 'light', 'dark']

function chosenTheme() {
  try {
    return localStorage.getItem('eider.theme') ?? 'system'
  } catch {
    // Where nothing is kept, the system decides.
    return 'system'
  }
}

function showTheme() {
  const chosen = chosenTheme()
  const { classList, dataset } = document.documentElement
  dataset.theme = chosen
  // What the reader of the API goes by.
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
      // It lasts as long as this page.
    }
    showTheme()
  })
})
