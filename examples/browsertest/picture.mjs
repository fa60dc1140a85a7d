// Takes the pictures of README: `go run ./examples/demo` in one terminal, `node picture.mjs DASHBOARD` here, with the
// address of its dashboard, when cards wait for different things. They are written to docs/.
import { chromium } from '@playwright/test'

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 620 }, colorScheme })
  await page.goto(process.argv[2] ?? 'http://127.0.0.1:8080/dashboard/')
  await page.screenshot({ path: `../../docs/board-${colorScheme}.png` })
}
await browser.close()
