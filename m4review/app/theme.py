"""Colours by meaning, for light and dark, and the style sheet made from them.

Status is never told by colour alone: every colour of the diff has a glyph beside it. The hues
are Okabe and Ito's, which stay apart for the common kinds of colour blindness; text on a tint
keeps a contrast of at least 4.5 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import Literal

from PySide6.QtGui import QColor, QPalette

Mode = Literal["auto", "light", "dark"]


@dataclass(frozen=True, kw_only=True)
class Theme:
    """Colours as ``#rrggbb``, by what they mean."""

    dark: bool
    """Is this the dark one?"""
    window: str
    """Behind everything."""
    sidebar: str
    """Behind the navigation."""
    surface: str
    """Cards, tables, fields."""
    raised: str
    """Buttons and headers."""
    hover: str
    """Under the pointer."""
    line: str
    """Borders and grid."""
    text: str
    """Ordinary text."""
    muted: str
    """Second-rank text."""
    accent: str
    """Focus, links, the main button."""
    on_accent: str
    """Text on `accent`."""
    selection: str
    """Selected rows."""
    good: str
    """Passed, matched (text colour)."""
    bad: str
    """Failed (text colour)."""
    warn: str
    """Needs attention (text colour)."""
    good_tint: str
    """Behind what passed."""
    bad_tint: str
    """Behind what failed."""
    warn_tint: str
    """Behind warnings."""
    different: str
    """Text of a cell that differs."""
    different_tint: str
    """Behind a cell that differs."""
    missing: str
    """Text of a row that the agent lacks."""
    missing_tint: str
    """Behind a row that the agent lacks."""
    extra: str
    """Text of a row that the reference lacks."""
    extra_tint: str
    """Behind a row that the reference lacks."""
    duplicate: str
    """Text of a further row of one key."""
    duplicate_tint: str
    """Behind a further row of one key."""
    null: str
    """Text of a cell that is empty on one side."""
    null_tint: str
    """Behind a cell that is empty on one side."""
    near: str
    """Text of a cell that is equal within the tolerance."""


LIGHT = Theme(
    dark=False,
    window="#f4f6f8",
    sidebar="#e9edf1",
    surface="#ffffff",
    raised="#f7f9fb",
    hover="#e6eef6",
    line="#d3dae1",
    text="#17212b",
    muted="#566472",
    accent="#0b63a5",
    on_accent="#ffffff",
    selection="#cfe3f5",
    good="#00694d",
    bad="#a8350a",
    warn="#7a5200",
    good_tint="#dff3ec",
    bad_tint="#fbe6dc",
    warn_tint="#fdf1d3",
    different="#93330a",
    different_tint="#fbe3d6",
    missing="#0a5384",
    missing_tint="#dcecf8",
    extra="#803a66",
    extra_tint="#f6e4ef",
    duplicate="#5b5200",
    duplicate_tint="#f4efc4",
    null="#7a4d00",
    null_tint="#fdeccb",
    near="#00694d",
)

DARK = Theme(
    dark=True,
    window="#14191f",
    sidebar="#10151a",
    surface="#1b2229",
    raised="#232c35",
    hover="#2a3641",
    line="#36424e",
    text="#e7edf3",
    muted="#9dabb9",
    accent="#6cb6f0",
    on_accent="#08202f",
    selection="#244a69",
    good="#5fd0ab",
    bad="#ff9c72",
    warn="#f3c25b",
    good_tint="#16382f",
    bad_tint="#44241a",
    warn_tint="#3d3116",
    different="#ffab85",
    different_tint="#4a2719",
    missing="#8cc8f5",
    missing_tint="#17354c",
    extra="#eda9d0",
    extra_tint="#432539",
    duplicate="#e4db77",
    duplicate_tint="#3a3712",
    null="#f5c66b",
    null_tint="#43330f",
    near="#5fd0ab",
)


def palette(theme: Theme) -> QPalette:
    """Qt's own roles from our colours, so that unstyled widgets fit in."""
    result = QPalette()
    role = QPalette.ColorRole
    colours = {
        role.Window: theme.window,
        role.WindowText: theme.text,
        role.Base: theme.surface,
        role.AlternateBase: theme.raised,
        role.Text: theme.text,
        role.Button: theme.raised,
        role.ButtonText: theme.text,
        role.BrightText: theme.bad,
        role.Highlight: theme.selection,
        role.HighlightedText: theme.text,
        role.ToolTipBase: theme.surface,
        role.ToolTipText: theme.text,
        role.PlaceholderText: theme.muted,
        role.Link: theme.accent,
        role.LinkVisited: theme.accent,
        role.Accent: theme.accent,
        role.Light: theme.surface,
        role.Midlight: theme.raised,
        role.Mid: theme.line,
        role.Dark: theme.line,
        role.Shadow: theme.line,
    }
    for which, colour in colours.items():
        result.setColor(which, QColor(colour))
    for which in (role.WindowText, role.Text, role.ButtonText):
        faded = QColor(theme.muted)
        faded.setAlphaF(0.6)
        result.setColor(QPalette.ColorGroup.Disabled, which, faded)
    return result


_SHEET = Template("""
* { outline: 0; }
QToolTip { color: $text; background: $surface; border: 1px solid $line; padding: ${p4}px; }
QMainWindow, QDialog { background: $window; }
#sidebar { background: $sidebar; border-right: 1px solid $line; }
#topbar { background: $surface; border-bottom: 1px solid $line; }
#sidebar QToolButton {
  text-align: left; border: 2px solid transparent; border-radius: ${p6}px;
  padding: ${p7}px ${p10}px; color: $text; background: transparent; font-weight: 400;
}
#sidebar QToolButton:hover { background: $hover; }
#sidebar QToolButton:checked { background: $selection; font-weight: 600; }
#sidebar QToolButton:focus { border-color: $accent; }
QFrame[card="true"] { background: $surface; border: 1px solid $line; border-radius: ${p8}px; }
QLabel[role="title"] { font-size: ${f20}px; font-weight: 600; }
QLabel[role="heading"] { font-size: ${f15}px; font-weight: 600; }
QLabel[role="section"] { font-size: ${f12}px; font-weight: 600; color: $muted; }
QLabel[role="muted"] { color: $muted; }
QLabel[role="figure"] { font-size: ${f24}px; font-weight: 600; }
QLabel[tone="good"] { color: $good; }
QLabel[tone="bad"] { color: $bad; }
QLabel[tone="warn"] { color: $warn; }
QLabel[badge="true"] { border-radius: ${p9}px; padding: ${p2}px ${p9}px; font-weight: 600; }
QLabel[badge="true"][tone="good"] { background: $good_tint; }
QLabel[badge="true"][tone="bad"] { background: $bad_tint; }
QLabel[badge="true"][tone="warn"] { background: $warn_tint; }
QLabel[badge="true"][tone="plain"] { background: $hover; color: $text; }
QPushButton, QComboBox, QLineEdit, QSpinBox, QDoubleSpinBox {
  background: $surface; color: $text; border: 1px solid $line; border-radius: ${p6}px;
  padding: ${p5}px ${p10}px; min-height: ${p18}px;
}
QLineEdit, QSpinBox, QDoubleSpinBox { padding: ${p5}px ${p8}px; }
QPushButton:hover, QComboBox:hover { background: $hover; }
QPushButton:focus, QComboBox:focus, QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus {
  border: 2px solid $accent; padding: ${p4}px ${p9}px;
}
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus { padding: ${p4}px ${p7}px; }
QPushButton:disabled, QComboBox:disabled, QLineEdit:disabled { color: $muted; background: $window; }
QPushButton[kind="main"] {
  background: $accent; color: $on_accent; border-color: $accent; font-weight: 600;
}
QPushButton[kind="main"]:hover { background: $accent_hover; }
QPushButton[kind="main"]:focus { border: 2px solid $text; }
QPushButton[kind="main"]:disabled { background: $line; border-color: $line; color: $muted; }
QPushButton[kind="chip"] {
  border-radius: ${p9}px; padding: ${p2}px ${p10}px; min-height: ${p18}px; background: $surface;
}
QPushButton[kind="chip"]:checked {
  background: $selection; border: 2px solid $accent; padding: ${p1}px ${p9}px;
}
QPushButton[kind="chip"]:focus { border: 2px solid $accent; padding: ${p1}px ${p9}px; }
QPushButton[kind="chip"]:disabled { color: $muted; background: transparent; }
QComboBox { combobox-popup: 0; padding-right: ${p22}px; }
QComboBox::drop-down { border: 0; width: ${p22}px; }
QComboBox::down-arrow { image: url($arrow); width: ${p12}px; height: ${p12}px; }
QSpinBox::up-button, QSpinBox::down-button {
  subcontrol-origin: border; width: ${p22}px; border: 0; background: transparent;
}
QSpinBox::up-button { subcontrol-position: top right; }
QSpinBox::down-button { subcontrol-position: bottom right; }
QSpinBox::up-button:hover, QSpinBox::down-button:hover { background: $hover; }
QSpinBox::up-arrow { image: url($arrow_up); width: ${p10}px; height: ${p10}px; }
QSpinBox::down-arrow { image: url($arrow); width: ${p10}px; height: ${p10}px; }
QComboBox QAbstractItemView {
  background: $surface; border: 1px solid $line; selection-background-color: $selection;
  selection-color: $text; padding: ${p2}px;
}
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QPushButton, QToolButton { icon-size: ${p16}px; }
QToolButton { border: 2px solid transparent; border-radius: ${p6}px; padding: ${p4}px; }
QToolButton:hover { background: $hover; }
QToolButton:focus { border-color: $accent; }
QToolButton::menu-indicator { image: none; }
QAbstractItemView {
  background: $surface; color: $text; border: 1px solid $line; border-radius: ${p6}px;
  padding: 1px;
  selection-background-color: $selection; selection-color: $text; gridline-color: $line;
}
QAbstractItemView:focus { border: 2px solid $accent; padding: 0; }
#diffGrid { background: $surface; border: 1px solid $line; border-radius: ${p6}px; }
#diffHalf { border: 0; border-radius: 0; padding: 0; }
#diffHalf:focus { border: 0; }
QAbstractScrollArea::corner { background: transparent; border: 0; }
QTableView::item, QTreeView::item, QListView::item { padding: ${p3}px ${p6}px; }
QTreeView::item { min-height: ${p22}px; }
QTreeView::item:selected, QTreeView::branch:selected { background: $selection; color: $text; }
QHeaderView { background: $raised; border: 0; }
QHeaderView::section {
  background: $raised; color: $muted; border: 0; border-bottom: 1px solid $line;
  border-right: 1px solid $line; padding: ${p5}px ${p6}px; font-weight: 600;
}
QTextBrowser, QPlainTextEdit { background: $surface; border: 1px solid $line;
  border-radius: ${p6}px; padding: ${p6}px; selection-background-color: $selection;
  selection-color: $text; }
QPlainTextEdit[code="true"] { font-family: "JetBrains Mono"; font-size: ${f13}px; }
QTextBrowser:focus, QPlainTextEdit:focus { border: 2px solid $accent; padding: ${p5}px; }
QTabWidget::pane { border: 1px solid $line; border-radius: ${p6}px; background: $surface; }
QTabBar { qproperty-drawBase: 0; }
QTabBar::tab {
  padding: ${p6}px ${p12}px; border: 0; border-bottom: 3px solid transparent; color: $muted;
}
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; font-weight: 600; }
QTabBar::tab:hover { color: $text; }
QTabBar:focus { border: 1px solid $accent; border-radius: ${p4}px; }
QProgressBar {
  background: $hover; border: 0; border-radius: ${p4}px; max-height: ${p8}px; min-height: ${p8}px;
}
QProgressBar::chunk { background: $accent; border-radius: ${p4}px; }
QScrollArea, QScrollArea > QWidget > QWidget[plain="true"] { background: transparent; border: 0; }
QScrollBar:vertical { background: transparent; width: ${p12}px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: ${p12}px; margin: 0; }
QScrollBar::handle { background: $handle; border-radius: ${p4}px; margin: 2px; }
QScrollBar::handle:vertical { min-height: ${p28}px; }
QScrollBar::handle:horizontal { min-width: ${p28}px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSlider { min-height: ${p22}px; }
QSlider::groove:horizontal { height: ${p4}px; border-radius: ${p2}px; background: $line; }
QSlider::sub-page:horizontal { border-radius: ${p2}px; background: $accent; }
QSlider::handle:horizontal {
  width: ${p16}px; height: ${p16}px; margin: -${p7}px 0; border-radius: ${p9}px;
  background: $surface; border: ${p2}px solid $accent;
}
QSlider::handle:horizontal:hover { background: $hover; }
QSlider::handle:horizontal:focus { background: $accent; }
QSlider::handle:horizontal:disabled { border-color: $muted; }
QSlider::sub-page:horizontal:disabled { background: $line; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: $selection; }
QStatusBar { background: $surface; border-top: 1px solid $line; color: $muted; }
QStatusBar::item { border: 0; }
QStatusBar QLabel { padding-left: ${p10}px; }
QMenuBar { background: $surface; border-bottom: 1px solid $line; }
QMenuBar::item { padding: ${p4}px ${p9}px; background: transparent; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $surface; border: 1px solid $line; padding: ${p4}px; }
QMenu::item { padding: ${p5}px ${p24}px ${p5}px ${p22}px; border-radius: ${p4}px; }
QMenu::item:selected { background: $selection; }
QMenu::item:disabled { color: $muted; }
QMenu::separator { height: 1px; background: $line; margin: ${p4}px ${p8}px; }
QCheckBox, QRadioButton { spacing: ${p6}px; padding: ${p2}px; border: 2px solid transparent; }
QCheckBox:focus, QRadioButton:focus { border: 2px solid $accent; border-radius: ${p4}px; }
QCheckBox::indicator:unchecked, QTreeView::indicator:unchecked {
  border: 1px solid $muted; background: $surface;
}
QFrame#errorPanel { background: $bad_tint; border: 1px solid $bad; border-radius: ${p8}px; }
QFrame#notePanel { background: $warn_tint; border: 1px solid $warn; border-radius: ${p8}px; }
QFrame#dropZone { border: 2px dashed $line; border-radius: ${p8}px; background: $surface; }
QFrame#dropZone[hot="true"] { border-color: $accent; background: $hover; }
""")

_PIXELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 18, 22, 24, 28)
_FONTS = (12, 13, 15, 20, 24)


def style_sheet(theme: Theme, zoom: float, *, arrow: str, arrow_up: str) -> str:
    """The application's style sheet.

    Args:
        theme: the colours.
        zoom: 1.0 is 100 %; every length and font size follows it.
        arrow: file of an arrow down, in the theme's colour.
        arrow_up: file of an arrow up.
    """
    values: dict[str, object] = {k: v for k, v in vars(theme).items() if isinstance(v, str)}
    values |= {f"p{n}": max(1, round(n * zoom)) for n in _PIXELS}
    values |= {f"f{n}": max(8, round(n * zoom)) for n in _FONTS}
    accent = QColor(theme.accent)
    values["accent_hover"] = (accent.lighter(112) if theme.dark else accent.darker(112)).name()
    values["handle"] = "#4b5966" if theme.dark else "#b5c0ca"
    values["arrow"], values["arrow_up"] = arrow, arrow_up
    return _SHEET.substitute(values)
