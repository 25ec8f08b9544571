//! The values of one point of a study, and what it is called.

use std::collections::BTreeMap;

use toml::de::DeValue;

use crate::content::{Axis, Content, Ground};
use crate::engines::Scope;
use crate::error::Fault;
use crate::name::Name;
use crate::read::read;
use plan::key::{self, VARIANT};
use plan::{EngineTraits, FromValue, Span, Spanned, Value};

pub(crate) type Failure = (Span, Fault);
pub(crate) type Defaults = BTreeMap<&'static str, Spanned<Value>>;

/// Defaults are read like typed values, so they cannot be of another kind.
pub(crate) fn defaults() -> Result<Defaults, Failure> {
    let mut all = Defaults::new();
    for (key, text) in key::KEYS.iter().filter_map(|k| Some((k, k.default?))) {
        let value = DeValue::parse(text).map_err(|e| ours(e.message()))?;
        let value = read(&Name::of(key), value.get_ref()).map_err(|f| ours(&f.message))?;
        let span = Span::NOWHERE;
        all.insert(key.name, Spanned { value, span });
    }
    Ok(all)
}

/// The default of one key.
pub(crate) fn default(name: &str) -> Option<Spanned<Value>> {
    defaults().ok()?.remove(name)
}

/// A fault of the table of keys, not of the study; tests keep it from happening.
pub(crate) fn ours(message: &str) -> Failure {
    let help = "this is a fault of dyno, not of the study";
    (Span::NOWHERE, Fault::new(message, help))
}

/// All values of one point.
pub(crate) struct Point<'a> {
    ground: &'a Ground<'a>,
    swept: Vec<(&'a Axis, &'a Spanned<Value>)>,
    defaults: &'a Defaults,
}

impl<'a> Point<'a> {
    /// The point at one index of the product: the ground is the slowest, the
    /// last axis the fastest.
    pub(crate) fn at(
        index: usize,
        content: &'a Content,
        grounds: &'a [Ground<'a>],
        defaults: &'a Defaults,
    ) -> Result<Self, Failure> {
        let mut rest = index;
        let mut swept = Vec::with_capacity(content.axes.len());
        for axis in content.axes.iter().rev() {
            let count = axis.values.len().max(1);
            swept.extend(axis.values.get(rest % count).map(|value| (axis, value)));
            rest /= count;
        }
        swept.reverse();
        let ground = grounds.get(rest);
        Ok(Self {
            ground: ground.ok_or_else(|| ours("there is a trial too many"))?,
            swept,
            defaults,
        })
    }

    pub(crate) fn typed(&self, name: &str) -> Option<&'a Spanned<Value>> {
        let swept = self
            .swept
            .iter()
            .find(|(axis, _)| axis.name.full() == name)
            .map(|(_, v)| *v);
        let on_ground = || self.ground.entries.get(name)?.value.as_ref();
        swept.or_else(on_ground).or_else(|| self.defaults.get(name))
    }

    pub(crate) fn maybe_spanned<T: FromValue>(
        &self,
        name: &str,
    ) -> Result<Option<Spanned<T>>, Failure> {
        let Some(typed) = self.typed(name) else {
            return Ok(None);
        };
        let Some(value) = T::from_value(&typed.value) else {
            return Err(ours(&format!(
                "`{name}` is of another kind than its meaning"
            )));
        };
        let span = typed.span;
        Ok(Some(Spanned { value, span }))
    }

    pub(crate) fn spanned<T: FromValue>(&self, name: &str) -> Result<Spanned<T>, Failure> {
        self.maybe_spanned(name)?
            .ok_or_else(|| ours(&format!("`{name}` has no value")))
    }

    pub(crate) fn maybe<T: FromValue>(&self, name: &str) -> Result<Option<T>, Failure> {
        Ok(self.maybe_spanned(name)?.map(|v| v.value))
    }

    pub(crate) fn get<T: FromValue>(&self, name: &str) -> Result<T, Failure> {
        Ok(self.spanned(name)?.value)
    }

    /// The settings of a server of this engine, by the names that it knows, in their order.
    pub(crate) fn settings(
        &self,
        engine: &str,
        engines: &[EngineTraits],
    ) -> Vec<(String, Spanned<String>)> {
        let on_ground = self.ground.entries.values();
        let on_ground = on_ground.filter_map(|e| Some((&e.name, e.value.as_ref()?)));
        let swept = self.swept.iter().map(|(axis, value)| (&axis.name, *value));
        let all: BTreeMap<_, _> = on_ground
            .chain(swept)
            .filter_map(|(name, typed)| {
                let (value, span) = (typed.value.to_string(), typed.span);
                Some((name.setting()?, Spanned { value, span }))
            })
            .collect();
        let scope = Scope::of(engine, all.keys().copied(), engines);
        let of_engine = all
            .into_iter()
            .filter_map(|(setting, value)| Some((scope.setting(setting)?.to_owned(), value)));
        of_engine.collect()
    }

    pub(crate) fn variant(&self) -> Option<&'a str> {
        self.ground.variant.map(|v| v.name.as_str())
    }

    /// The value on each axis.
    pub(crate) fn values(&self) -> plan::Point {
        let variant = self.variant().map(|v| (VARIANT.to_owned(), v.into()));
        let swept = self.swept.iter();
        let swept = swept.map(|(axis, v)| (axis.name.full().to_owned(), v.value.clone()));
        variant.into_iter().chain(swept).collect()
    }

    /// What people call it, in parts; none where there is but one point.
    pub(crate) fn label(&self) -> Vec<String> {
        let mut parts: Vec<_> = self.variant().map(str::to_owned).into_iter().collect();
        for (axis, value) in &self.swept {
            let name = &axis.name;
            let namesakes = self
                .swept
                .iter()
                .filter(|(a, _)| a.name.short() == name.short());
            let name = if namesakes.count() == 1 {
                name.short()
            } else {
                name.full()
            };
            parts.push(format!("{name}={}", value.value));
        }
        parts
    }
}
