package tile

// FirstBand is the level after those that count.
const FirstBand = firstBand
