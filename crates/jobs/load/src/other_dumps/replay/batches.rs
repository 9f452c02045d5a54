//! Rows on their way to the loaders: which batch they belong to, and who waits
//! for whom.

use super::*;

impl Stream<'_, '_> {
    /// The target's table for rows; its keys, if they wait, wait on.
    pub(super) fn shape(&mut self, name: &Name, stop: &Stop<'_>) -> Result<Arc<Shape>> {
        let key = self.key(name)?;
        self.next_table(Some(&key), stop)?;
        if let Some(shape) = self.shapes.get(&key) {
            return Ok(Arc::clone(shape));
        }
        self.begin()?;
        let shape = Arc::new(Shape::read(&mut self.t.conn, &key.0, &key.1)?);
        if shape.plain && self.t.resuming {
            // Its engine keeps what a killed batch has stored.
            let sql = format!("TRUNCATE TABLE {}", shape.name);
            self.run(sql.as_bytes(), &shape.name.clone(), true)?;
        }
        self.shapes.insert(key.clone(), Arc::clone(&shape));
        self.made.insert(key);
        Ok(shape)
    }

    /// Another table begins: what waited for the last one's rows can go on.
    pub(super) fn next_table(&mut self, key: Option<&Key>, stop: &Stop<'_>) -> Result<()> {
        let done: Vec<Key> = self
            .keys
            .keys()
            .filter(|k| Some(*k) != key && self.shapes.contains_key(*k))
            .cloned()
            .collect();
        if done.is_empty() {
            return Ok(());
        }
        self.flush(stop)?;
        for table in done {
            self.complete(&table, stop)?;
        }
        Ok(())
    }

    /// The keys of a table whose rows have all been given out.
    pub(super) fn complete(&mut self, table: &Key, stop: &Stop<'_>) -> Result<()> {
        let Some(groups) = self.keys.remove(table) else {
            return Ok(());
        };
        let shape = match self.shapes.get(table) {
            Some(shape) => Arc::clone(shape),
            None => Arc::new(Shape::read(&mut self.t.conn, &table.0, &table.1)?),
        };
        self.send(Task::Keys(shape, groups), stop)
    }

    pub(super) fn add(
        &mut self,
        part: &Part,
        n: usize,
        shape: Arc<Shape>,
        s: Statement,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let other = |f: &Arc<Shape>| !Arc::ptr_eq(f, &shape);
        if self.filling.as_ref().is_some_and(other) {
            self.flush(stop)?;
        }
        self.bytes += s.text.len();
        self.batch.push(s);
        self.filling = Some(shape);
        self.place = (part.name(), n);
        if self.bytes >= BATCH {
            self.flush(stop)?;
        }
        Ok(())
    }

    /// Gives out the batch that is being filled.
    pub(super) fn flush(&mut self, stop: &Stop<'_>) -> Result<()> {
        let Some(shape) = self.filling.take() else {
            return Ok(());
        };
        let list = std::mem::take(&mut self.batch);
        let bytes = std::mem::take(&mut self.bytes) as u64;
        let (offset, line) = list.first().map_or((0, 0), |s| (s.offset, s.line));
        let (name, n) = &self.place;
        let batch = Batch {
            id: format!("{n}@{offset}"),
            place: format!("{name}, from line {line},"),
            context: self.context.clone(),
            content: Rows::Inserts(list),
            bytes,
            journal: self.journal_for(&shape),
            shape,
        };
        self.give(batch, stop)
    }

    pub(super) fn journal_for(&self, shape: &Shape) -> Option<Arc<Journal>> {
        self.journal.clone().filter(|_| !shape.plain)
    }

    pub(super) fn give(&mut self, batch: Batch, stop: &Stop<'_>) -> Result<()> {
        if let Some(journal) = batch.journal.as_ref().filter(|j| j.has(&batch.id)) {
            let rows = journal.rows(&batch.id);
            batch.shape.rows.fetch_add(rows, Ordering::SeqCst);
            self.counters.bytes.add(batch.bytes);
            return Ok(());
        }
        batch.shape.open.fetch_add(1, Ordering::SeqCst);
        self.send(Task::Rows(batch), stop)
    }

    pub(super) fn send(&mut self, task: Task, stop: &Stop<'_>) -> Result<()> {
        let Some(tasks) = &self.tasks else {
            return Err(Error::new(
                Kind::Internal,
                "the loaders have been sent home",
            ));
        };
        self.open.fetch_add(1, Ordering::SeqCst);
        let mut task = task;
        loop {
            stop.check()?;
            match tasks.send_timeout(task, Duration::from_millis(50)) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => task = back,
                Err(SendTimeoutError::Disconnected(_)) => {
                    return Err(Error::new(Kind::Internal, "the loaders have gone"));
                }
            }
        }
    }

    /// Waits until all rows that were read are stored.
    pub(super) fn settle(&mut self, stop: &Stop<'_>) -> Result<()> {
        self.flush(stop)?;
        while self.open.load(Ordering::SeqCst) > 0 {
            stop.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}
