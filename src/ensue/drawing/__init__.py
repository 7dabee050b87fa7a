"""Pictures as SVG: elements, colours for light and dark, axes and layouts."""
